"""Names that are told apart although they are words otherwise, or that WordNet does not have. Data only.

Other names are recognised as words WordNet knows with a capital only (`wordnet/names.txt`) or not at all; capitals in
the prompt are never asked, so that case changes no verdict.
"""

from __future__ import annotations

from pytest_cachesafe.semantic.tables.word_set import word_set

__all__ = ["NAMES"]

NAMES = word_set(
    # products, services and makers
    "apple google amazon microsoft meta facebook instagram twitter tiktok youtube whatsapp telegram signal slack teams "
    "zoom discord skype dropbox box notion jira confluence trello asana linear figma canva adobe photoshop "
    "gmail outlook hotmail yahoo icloud chrome firefox safari edge opera brave windows mac macos linux ubuntu debian "
    "fedora android ios iphone ipad pixel kindle galaxy samsung sony nokia huawei xiaomi netflix spotify hulu disney "
    "paypal stripe klarna square venmo visa mastercard amex shopify magento woocommerce wordpress wix squarespace "
    "salesforce hubspot zendesk intercom freshdesk mailchimp sendgrid twilio segment snowflake databricks bigquery "
    "redshift postgres mysql mariadb sqlite oracle mongodb redis cassandra elasticsearch kafka rabbitmq spark airflow "
    "aws gcp azure heroku vercel netlify cloudflare docker kubernetes helm terraform ansible jenkins github gitlab "
    "bitbucket git svn npm yarn pip conda django flask fastapi rails laravel spring react angular vue svelte nextjs "
    "nodejs express openai anthropic claude gemini gpt chatgpt llama mistral copilot alexa siri cortana uber lyft "
    "airbnb booking expedia ebay etsy walmart target tesco ikea fedex ups dhl tesla toyota honda ford bmw audi "
    "mercedes volkswagen nissan xbox playstation nintendo steam bitcoin ethereum dogecoin sap excel word powerpoint "
    "sharepoint onedrive asos bearer vscode pytorch tensorflow keras numpy pandas polars nginx apache "
    # first names that are words, or too new for WordNet
    "mary mark john paul peter james robert michael william david richard joseph thomas charles daniel matthew "
    "anthony donald steven andrew kevin brian george edward jason jeffrey ryan jacob gary eric stephen jonathan larry "
    "scott brandon frank gregory samuel raymond patrick jack dennis jerry alexander tyler henry adam peter dana "
    "patricia jennifer linda elizabeth barbara susan jessica sarah karen nancy lisa margaret sandra ashley kimberly "
    "emily donna michelle carol amanda melissa deborah stephanie rebecca laura sharon cynthia kathleen amy angela "
    "shirley anna brenda pamela emma nicole helen samantha katherine christine rachel carolyn janet maria heather "
    "diane julie olivia joyce victoria kelly lauren christina joan evelyn judith megan andrea cheryl hannah martha "
    "jacqueline frances ann alice bob carol dave eve tom tim sam ben max leo mia noah liam"
)
